import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('queues', '0005_pool_min_replicas'),
    ]

    operations = [
        migrations.AddField(
            model_name='pool',
            name='events_memory_mb',
            field=models.PositiveIntegerField(default=256, help_text='How much of its Redis the events may take until a pump has written them to the lake. What does not fit is dropped, the oldest first, and missing from the reports.', validators=[django.core.validators.MinValueValidator(16), django.core.validators.MaxValueValidator(65536)], verbose_name='memory for events (MiB)'),
        ),
    ]
