import django.core.validators
from django.db import migrations, models

OLD_DEFAULT = 256


def follow_the_servers_memory(apps, schema_editor):
    """Pools with the old default get the new one."""
    apps.get_model('queues', 'Pool').objects.filter(events_memory_mb=OLD_DEFAULT).update(events_memory_mb=None)


def restore_the_old_default(apps, schema_editor):
    apps.get_model('queues', 'Pool').objects.filter(events_memory_mb=None).update(events_memory_mb=OLD_DEFAULT)


class Migration(migrations.Migration):
    dependencies = [
        ('queues', '0011_schedule_limit_key'),
    ]

    operations = [
        migrations.AlterField(
            model_name='pool',
            name='events_memory_mb',
            field=models.PositiveIntegerField(blank=True, help_text="How much of its Redis the events may take until a pump has written them to the lake. What does not fit is dropped, the oldest first, and missing from the reports. Blank: a quarter of the server's maxmemory, or 256 MiB where it has none.", null=True, validators=[django.core.validators.MinValueValidator(16), django.core.validators.MaxValueValidator(65536)], verbose_name='memory for events (MiB)'),
        ),
        migrations.RunPython(follow_the_servers_memory, restore_the_old_default),
    ]
