"""What `eunoe up` adds for development: secrets in the stack's folder, and a policy that says what it is."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from eunoe.runtime.brokers import SecurityProtocol
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import following_control, publish_control
from eunoe.runtime.installation import Installation
from eunoe.runtime.principals import DevelopmentSecrets, control_signer, create_development_secrets
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import POLICY
from eunoe.schemas.topics import QUICK_CLEANING

SECRETS_FOLDER: Final = "secrets"
AGENT: Final = "dev-agent"
_PATHS: Final = ("kek_file", "kek_other_file", "secrets", "control_key", "attest_key", "export_key", "erasure_ledger")
_LOGIN_PATHS: Final = ("kafka_password_file", "kafka_ca", "kafka_certificate", "kafka_certificate_key")
_CLEANING: Final = ("keys_segment", "keys_compaction_lag", "keys_tombstones", "keys_file_delay")


def with_development(settings: Settings, made: DevelopmentSecrets) -> Settings:
    """``settings`` with the development secrets wherever nothing else was named."""
    return replace(
        settings,
        kek_file=settings.kek_file or made.kek_file,
        secrets=settings.secrets or made.secrets,
        control_key=settings.control_key or made.control_key,
        attest_key=settings.attest_key or made.attest_key,
        export_key=settings.export_key or made.export_key,
        erasure_ledger=settings.erasure_ledger or made.erasure_ledger,
        control_signers=settings.control_signers or made.control_signers,
    )


def cleaned_quickly(settings: Settings) -> Settings:
    """``settings`` for a stack on which a destroyed key is gone within seconds."""
    return replace(
        settings,
        keys_segment=QUICK_CLEANING.segment,
        keys_compaction_lag=QUICK_CLEANING.lag,
        keys_tombstones=QUICK_CLEANING.tombstones,
        keys_file_delay=QUICK_CLEANING.file_delay,
    )


async def apply_development(settings: Settings, installation: Installation, folder: Path) -> Settings:
    """Secrets in ``folder``, and the development policy where no policy is in force. Repeat-safe.

    Returns the settings that use them. An installation whose policy somebody else signed keeps it.
    """
    made = create_development_secrets(folder)
    settings = with_development(settings, made)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        if follower.state.policy is None and settings.control_key is not None:
            await publish_control(
                settings.brokers,
                follower,
                installation,
                signer=control_signer(settings.control_key),
                clock=SystemClock(),
                name=POLICY,
                body=made.policy,
                reason="eunoe up",
            )
    return settings


def remembered(settings: Settings) -> Mapping[str, str | int | list[str]]:
    """What the other commands need to know, as settings."""
    paths = {name: getattr(settings, name) for name in _PATHS}
    return {
        "kafka": settings.kafka,
        **_login(settings),
        "redis": settings.redis,
        "prefix": settings.prefix,
        "group": settings.group,
        "partitions": settings.partitions,
        "principal": settings.principal or AGENT,
        **{name: f"PT{getattr(settings, name) / 1_000:.3f}S" for name in _CLEANING},
        "control_signers": [
            f"{each.signer}={base64.b64encode(each.public_key).decode()}" for each in settings.control_signers
        ],
        **(
            {"kafka_log_dirs": [str(each.absolute()) for each in settings.kafka_log_dirs]}
            if settings.kafka_log_dirs
            else {}
        ),
        **{name: str(path.absolute()) for name, path in paths.items() if path is not None},
    }


def _login(settings: Settings) -> Mapping[str, str]:
    """How to log in to Kafka, without a password that came from a variable: whoever needs it sets it again."""
    if settings.kafka_security_protocol is SecurityProtocol.PLAINTEXT:
        return {}
    paths = {name: getattr(settings, name) for name in _LOGIN_PATHS}
    return {
        "kafka_security_protocol": settings.kafka_security_protocol,
        "kafka_sasl_mechanism": settings.kafka_sasl_mechanism,
        **({} if settings.kafka_username is None else {"kafka_username": settings.kafka_username}),
        **{name: str(path.absolute()) for name, path in paths.items() if path is not None},
    }
