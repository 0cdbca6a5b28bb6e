"""Settings of taskq. What deployments may change comes from the environment; docs/operations.md lists the variables."""

from __future__ import annotations

from typing import Any

from queues import __version__, spark_settings
from queues.engine import constants

from .connections import database_config, mail_settings
from .env import (
    EnvError,
    read_bool,
    read_checked,
    read_choice,
    read_dir,
    read_holidays,
    read_int,
    read_list,
    read_networks,
    read_place,
    read_price,
    read_secret,
    read_size,
    read_text,
    read_time,
    read_umask,
    read_url,
)
from .installation import ASSETS_DIR, CHECKOUT_DIR, PACKAGE_DIR, default_data_dir, manage_command, shown_command
from .private_data import keep_private, keep_secret_key

DATA_DIR = read_dir("TASKQ_DATA_DIR", default=default_data_dir)

# How processes of taskq start others, what a person types for it, and where those that are no command of Django's find
# our packages first (None: where Python finds installed ones).
TASKQ_COMMAND = manage_command()
TASKQ_SHOWN_COMMAND = shown_command()
TASKQ_CHECKOUT_DIR = CHECKOUT_DIR

DEBUG = read_bool("DEBUG", default=False)
SECRET_KEY = read_text("SECRET_KEY") or keep_secret_key(DATA_DIR)
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS", default=("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = read_list("CSRF_TRUSTED_ORIGINS")

# The server of the pool `default`, and of Django's cache and sessions. Other pools are rows in the database.
REDIS_URL = read_url(
    "REDIS_URL",
    default="redis://127.0.0.1:6379/0",
    schemes=("redis", "rediss", "unix", "redis+sentinel", "redis+cluster"),
)

DATABASES = {"default": database_config(read_text("DATABASE_URL", f"sqlite:///{DATA_DIR / 'taskq.sqlite3'}"))}
# A Spark cluster that runs as another user of the same group needs 027 to read the lake.
keep_private(data_dir=DATA_DIR, database=DATABASES["default"], umask=read_umask("TASKQ_UMASK", default=0o077))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": [REDIS_URL],
        # Same server and database as the jobs (a cluster has no other), so keys are told apart by their prefix. The
        # braces put them all into one cluster slot, without which reading several at once would be refused.
        "KEY_PREFIX": "{taskq-cache}",
        "OPTIONS": {
            "CLIENT_CLASS": "taskq_site.cache.CacheClient",
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            # A page without its cache is slower; a page that fails is useless when one wants to see what Redis does.
            "IGNORE_EXCEPTIONS": True,
        },
    }
}
DJANGO_REDIS_CONNECTION_FACTORY = "taskq_site.cache.CacheConnections"
DJANGO_REDIS_LOG_IGNORED_EXCEPTIONS = True
DJANGO_REDIS_LOGGER = "taskq_site.cache"

# Sessions are read from Redis and written to both, so that staff stays logged in while Redis is away: that is when the
# pool page is needed.
SESSION_ENGINE = "django.contrib.sessions.backends.cached_db"

INSTALLED_APPS = [
    "queues.apps.QueuesConfig",
    "dashboard",
    "django.contrib.admin.apps.SimpleAdminConfig",  # taskq_site.urls loads our pages of it: other processes have none
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "queues.api.views.skip_page_middleware",
    "taskq_site.compression.compress_text",
    "taskq_site.middleware.security_headers",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "taskq_site.middleware.remember_browser",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "taskq_site.urls"
ASGI_APPLICATION = "taskq_site.asgi.application"
WSGI_APPLICATION = "taskq_site.wsgi.application"
# Every route of the API is exact: `/api/ns/q/` is not `/api/ns/q`.
APPEND_SLASH = False
# Publishing has its own limits (queues.engine.constants), which answer in the contract's words.
DATA_UPLOAD_MAX_MEMORY_SIZE = None

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [ASSETS_DIR / "static"]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "admin:login"

# So many wrong passwords in such a time lock out the address that they come from, and strangers from the account
# (queues.services.sign_ins). django-axes asks and tells our handler, and has the refusal answered.
AXES_FAILURE_LIMIT = read_int("TASKQ_SIGN_IN_FAILURES", default=20, minimum=1, maximum=100_000)
TASKQ_SIGN_IN_LOCK_S = read_int("TASKQ_SIGN_IN_LOCK_S", default=900, minimum=1, maximum=86_400)
AUTHENTICATION_BACKENDS = ["queues.services.sign_ins.backend.PasswordBackend"]
AXES_HANDLER = "queues.services.sign_ins.throttling.SignInLimits"
AXES_CLIENT_IP_CALLABLE = "queues.services.sign_ins.throttling.address_of"
AXES_LOCKOUT_CALLABLE = "taskq_site.middleware.answer_refusal"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# The proxies in front, whose X-Forwarded-For says which address a client has. Without them it is the socket's peer.
TASKQ_TRUSTED_PROXIES = read_networks("TASKQ_TRUSTED_PROXIES")

# HTTPS=1 behind a proxy that ends TLS: cookies never go in the clear. It must set, not pass on, X-Forwarded-Proto.
HTTPS = read_bool("HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_NAME = "taskq_session"
CSRF_COOKIE_NAME = "taskq_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "taskq_site.errors.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 365 * 86_400 if HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "Simplified Chinese")]
LOCALE_PATHS = [PACKAGE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = "taskq_language"
LANGUAGE_COOKIE_AGE = 365 * 86_400
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True

REST_FRAMEWORK: dict[str, Any] = {
    # Tokens open namespaces, not Django users: each view says how it is opened.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "taskq",
    "DESCRIPTION": "A task-queue service: lmstfy's HTTP API on Redis.",
    "VERSION": __version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "PREPROCESSING_HOOKS": ["queues.api.schema.describe_handlers"],
}

# Off: every request goes through Django, which answers alike, but more slowly.
TASKQ_FAST_PATH = read_bool("TASKQ_FAST_PATH", default=True)

# Off: `serve` serves pages in its workers, too, which saves the memory of one process; requests of the API then feel
# it when pages are looked at. Without the fast path that is so anyway.
TASKQ_PAGES_PROCESS = read_bool("TASKQ_PAGES_PROCESS", default=True)

# What one web process may hold of large request bodies and of answers that clients have not read; else it answers 503.
TASKQ_WORKER_MEMORY_MB = read_int("TASKQ_WORKER_MEMORY_MB", default=512, minimum=64, maximum=1_048_576)

# Connections that one web process keeps; more are answered 503 and closed.
TASKQ_WORKER_CONNECTIONS = read_int("TASKQ_WORKER_CONNECTIONS", default=20_000, minimum=16, maximum=1_000_000)

# A process that has shown no sign of life for so long is killed, and replaced, by the one that has started it.
TASKQ_HUNG_AFTER_S = read_int("TASKQ_HUNG_AFTER_S", default=8, minimum=2, maximum=86_400)

# Bytes of a bulk publish's body; a worker holds it in memory until it is published.
TASKQ_BULK_MAX_BYTES = read_int(
    "TASKQ_BULK_MAX_BYTES", default=constants.BULK_MAX_BYTES, minimum=constants.BODY_MAX_BYTES, maximum=2**30
)

# How long the making of a page may take; then its work is dropped.
TASKQ_PAGE_TIMEOUT_S = read_int("TASKQ_PAGE_TIMEOUT_S", default=20, minimum=1, maximum=600)

# /metrics: how many queues have series of their own, and a secret that opens it beside the passwords of staff.
TASKQ_METRICS_QUEUES = read_int("TASKQ_METRICS_QUEUES", default=200, minimum=1, maximum=10_000)
TASKQ_METRICS_TOKEN = read_secret("TASKQ_METRICS_TOKEN")
# How often /metrics counts the jobs of the next stretch of queues, to find those with the most.
TASKQ_METRICS_WALK_S = 15.0

# Push: networks that requests may go to though they are not public, authorities that certificates may be of beside the
# system's, and what one pusher holds of bodies before it takes jobs one at a time.
TASKQ_PUSH_ALLOWED_NETWORKS = read_networks("TASKQ_PUSH_ALLOWED_NETWORKS")
TASKQ_PUSH_CA_FILE = read_text("TASKQ_PUSH_CA_FILE")
TASKQ_PUSH_MEMORY_MB = read_int("TASKQ_PUSH_MEMORY_MB", default=256, minimum=16, maximum=1_048_576)

# How long a publish waits for the replicas of a pool that has `min_replicas`.
TASKQ_REPLICATION_TIMEOUT_MS = read_int("TASKQ_REPLICATION_TIMEOUT_MS", default=1_000, minimum=10, maximum=4_000)

# The event lake, and the reports made of it: paths, or URLs that fsspec (and, of Spark, Hadoop) knows.
TASKQ_LAKE_URL = read_place("TASKQ_LAKE_URL", default=DATA_DIR / "lake")
TASKQ_REPORTS_URL = read_place("TASKQ_REPORTS_URL", default=DATA_DIR / "reports")
if TASKQ_LAKE_URL.rstrip("/") == TASKQ_REPORTS_URL.rstrip("/"):
    raise EnvError("TASKQ_LAKE_URL and TASKQ_REPORTS_URL must differ: each is deleted by rules of its own")
TASKQ_LAKE_EVERY_S = read_int("TASKQ_LAKE_EVERY_S", default=300, minimum=1, maximum=86_400)
# Whole days are deleted from the lake when they are older than that, or as long as it is larger; 0: never.
TASKQ_LAKE_KEEP_DAYS = read_int("TASKQ_LAKE_KEEP_DAYS", default=0, minimum=0, maximum=10_000)
TASKQ_LAKE_MAX_BYTES = read_size("TASKQ_LAKE_MAX_BYTES", minimum=1 << 20)

# Events as an Iceberg table, too (empty: by command only): `sqlite`, or a catalog of pyiceberg's own configuration.
TASKQ_ICEBERG_CATALOG = read_text("TASKQ_ICEBERG_CATALOG")
TASKQ_ICEBERG_WAREHOUSE = read_place("TASKQ_ICEBERG_WAREHOUSE", default=DATA_DIR / "iceberg")
TASKQ_ICEBERG_TABLE = read_text("TASKQ_ICEBERG_TABLE", "taskq.events")

# When the reports of days that have ended are made, in UTC (None: by command only), by which Spark, kept for how long.
TASKQ_REPORT_AT = read_time("TASKQ_REPORT_AT", default="02:10")
# Of today: so often that what they say is less than an hour old, the lake's lag and the time of a run included.
TASKQ_REPORT_TODAY_EVERY_S = read_int(
    "TASKQ_REPORT_TODAY_EVERY_S", default=1_800, minimum=60, maximum=86_400, or_zero=True
)
TASKQ_SPARK_MASTER = read_checked("TASKQ_SPARK_MASTER", spark_settings.check_master, default="local[*]")
TASKQ_SPARK_MEMORY = read_checked("TASKQ_SPARK_MEMORY", spark_settings.check_memory, default="")
TASKQ_SPARK_CONF: dict[str, str] = read_checked("TASKQ_SPARK_CONF", spark_settings.parse_conf, default={})
# Read by `runreport` only, so that other processes, perhaps on other hosts, do without the file.
TASKQ_SPARK_PROPERTIES = read_text("TASKQ_SPARK_PROPERTIES")
TASKQ_REPORTS_KEEP_DAYS = read_int("TASKQ_REPORTS_KEEP_DAYS", default=400, minimum=1, maximum=10_000)
# Prices, each optional, for the page Cost: of a second that a job ran, of a million jobs, of a GiB published.
TASKQ_COST_CURRENCY = read_text("TASKQ_COST_CURRENCY")[:8]
TASKQ_COST_RUN_SECOND = read_price("TASKQ_COST_RUN_SECOND")
TASKQ_COST_MILLION_JOBS = read_price("TASKQ_COST_MILLION_JOBS")
TASKQ_COST_GIB = read_price("TASKQ_COST_GIB")
TASKQ_REPORT_MAIL_TO = read_list("TASKQ_REPORT_MAIL_TO")

# Over how many days an objective's error budget runs.
TASKQ_BUDGET_DAYS = read_int("TASKQ_BUDGET_DAYS", default=30, minimum=1, maximum=366)

# Days that are not compared with the same weekday of past weeks: dates, or countries (DE, or DE-BY) whose holidays the
# package `holidays` knows.
TASKQ_HOLIDAYS = read_holidays("TASKQ_HOLIDAYS")

# How taskq is reached from outside, for links in mails; and the server that takes mails.
TASKQ_PUBLIC_URL = read_text("TASKQ_PUBLIC_URL").rstrip("/")
vars().update(mail_settings(read_text("EMAIL_URL")))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = read_text("EMAIL_FROM", "taskq@localhost")

LOG_LEVEL = read_choice("LOG_LEVEL", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
LOG_FORMAT = read_choice("LOG_FORMAT", default="text", choices=("text", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "taskq_site.logs.LogfmtFormatter"},
        "json": {"()": "taskq_site.logs.JsonFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "queues": {"level": LOG_LEVEL},
        "dashboard": {"level": LOG_LEVEL},
        "taskq_site": {"level": LOG_LEVEL},
        "taskq": {"level": LOG_LEVEL},  # the engine's
        # Replaces Django's own handlers, which mail admins and print several lines. What a client did wrong (4xx) is
        # told to the client; a waiting consumer that finds nothing is a 404 and no news.
        "django": {"level": "WARNING", "handlers": [], "propagate": True},
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # 400: strangers must not be able to fill the log
    },
}
