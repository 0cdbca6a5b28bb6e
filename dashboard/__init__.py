"""The pages that people look at: `views/` answer requests, `forms/` read input, `templatetags/` show values.

The modules beside them turn values into text and HTML for several pages: bodies of jobs, numbers,
errors, escaping, the navigation. Served by Django behind `taskq_site.urls`. Calls services only; of the engine it knows
values, errors and limits. Templates are in `templates/dashboard/`, styles and scripts in `static/dashboard/`.
"""
