from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('queues', '0013_lake_retention'),
    ]

    operations = [
        migrations.AddField(
            model_name='reportday',
            name='handed_on',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='reportday',
            name='last_event_at',
            field=models.DateTimeField(null=True, verbose_name='last event'),
        ),
        migrations.AddField(
            model_name='reportday',
            name='predecessor_run',
            field=models.CharField(blank=True, db_default='', default='', help_text='Whose backlogs this day began with.', max_length=64, verbose_name='run of the day before'),
        ),
        migrations.AddField(
            model_name='reportday',
            name='taken_over',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
    ]
