import django.db.models.functions.datetime
import taskq.django.models
from django.db import migrations, models


TRIGGER = """
CREATE FUNCTION taskq_outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('taskq_outbox', '');
    RETURN NULL;
END $$;
CREATE TRIGGER taskq_outbox_notify AFTER INSERT ON taskq_outbox
    FOR EACH STATEMENT EXECUTE FUNCTION taskq_outbox_notify();
"""
"""Tells relays of new rows when the transaction commits. Equal messages of one transaction are one."""


def make_trigger(apps, schema_editor):
    if has_table(schema_editor):
        schema_editor.execute(TRIGGER)


def drop_trigger(apps, schema_editor):
    if has_table(schema_editor):
        schema_editor.execute("DROP TRIGGER taskq_outbox_notify ON taskq_outbox; DROP FUNCTION taskq_outbox_notify();")


def has_table(schema_editor):
    connection = schema_editor.connection
    return connection.vendor == "postgresql" and "taskq_outbox" in connection.introspection.table_names()


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Outbox',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('uid', models.UUIDField(db_default=taskq.django.models.RandomUUID(), help_text='by which a repeated publish is known', unique=True)),
                ('namespace', models.CharField(blank=True, db_default='', help_text='empty: that of the relay', max_length=255)),
                ('queue', models.CharField(max_length=255)),
                ('body', models.BinaryField()),
                ('delay', models.FloatField(db_default=0.0, help_text='seconds from created_at')),
                ('due_at', models.DateTimeField(blank=True, help_text='instead of a delay', null=True)),
                ('ttl', models.FloatField(blank=True, help_text='seconds from the publish; 0: for ever; NULL: a day', null=True)),
                ('tries', models.IntegerField(db_default=1)),
                ('priority', models.IntegerField(db_default=0)),
                ('backoff', models.CharField(blank=True, db_default='none', max_length=64)),
                ('retention', models.FloatField(db_default=0.0)),
                ('idempotency_key', models.CharField(blank=True, db_default='', help_text='empty: none', max_length=255)),
                ('key_mode', models.CharField(blank=True, db_default='window', max_length=16)),
                ('key_ttl', models.FloatField(blank=True, null=True)),
                ('key_max_wait', models.FloatField(db_default=0.0)),
                ('attributes', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('refused_at', models.DateTimeField(blank=True, help_text='NULL: waiting to be published', null=True)),
                ('reason', models.CharField(blank=True, db_default='', help_text='why it was refused', max_length=1000)),
            ],
            options={
                'verbose_name': 'job in the outbox',
                'verbose_name_plural': 'outbox',
                'db_table': 'taskq_outbox',
                'indexes': [models.Index(fields=['refused_at', 'id'], name='taskq_outbox_waiting')],
            },
        ),
        migrations.RunPython(make_trigger, drop_trigger),
    ]
