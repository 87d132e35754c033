"""The command line: one command a module, imported when it is called."""

from __future__ import annotations

import importlib

import click

import fatload

COMMANDS = {
    "run": "Run a program with CUDA on this machine's CPU.",
    "translate": "Translate CUDA code offline.",
    "inspect": "Show what CUDA code a file holds.",
    "env": "Print what a shell, Dockerfile or job script needs to run CUDA programs.",
    "cache": "Look after the cache of translated code.",
    "serve": "Run the translation service in the foreground.",
    "nvcc": "Compile CUDA source with NVIDIA's compiler.",
}


class Lazy(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"fatload.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(fatload.__version__, prog_name="fatload")
def main() -> None:
    """fatload runs unmodified Linux CUDA programs without an NVIDIA GPU.

    \b
    fatload run ./cuda_app            run a program on the CPU device
    fatload nvcc app.cu -o app        compile CUDA source
    fatload inspect app               what CUDA code a file holds
    fatload translate app --arch cpu  fill the cache ahead of time
    """
