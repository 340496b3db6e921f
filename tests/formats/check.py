"""Every fixture in every form that another program reads."""

import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema
import xmlschema

TOOLS = pathlib.Path(os.environ["TOOLS"])
SARIF = jsonschema.Draft7Validator(json.loads((TOOLS / "sarif.json").read_text()), format_checker=jsonschema.FormatChecker())
JUNIT = xmlschema.XMLSchema(str(TOOLS / "junit.xsd"))
# docs.gitlab.com, "Code Quality report format"
GITLAB = jsonschema.Draft7Validator(
    {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "minLength": 16},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": "^[^/.]"},
                        "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                    },
                },
            },
        },
    }
)


def validate(project, form):
    run = subprocess.run(
        [os.environ["LETTERPRESS"], "-C", project, "validate", "--no-cache", "--profile", "strict", "--format", form],
        capture_output=True,
        text=True,
    )
    assert run.returncode in (0, 3), (project, run)
    return run.stdout


def hostile(folder):
    """Names and values that would end a value, a tag or a line of some form."""
    words = "]]>&<\"'\x1b[31m\u202e::error::%0A{{x}}\ufffe"
    template = folder / "templates" / "a&<b>'\"%"
    template.mkdir(parents=True)
    (folder / "letterpress.toml").write_text("")
    (template / "manifest.yaml").write_text(f"name: {json.dumps(words)}\n{json.dumps(words)}: 1\nsender_email: {json.dumps(words)}\n")
    (template / "body.txt").write_text(f"{words}\x00\n")
    return folder


def problems(project):
    text = validate(project, "sarif")
    if not text:
        return  # letterpress.toml itself is wrong: that is said on stderr
    for error in SARIF.iter_errors(json.loads(text)):
        yield f"sarif: {error.json_path}: {error.message[:200]}"
    # The XSD has the count of skipped cases for a suite only; today's writers put it on the whole as well, and readers pass over it.
    junit = re.sub(r"(<testsuites [^>]*?) skipped=\"0\"", r"\1", validate(project, "junit"))
    for error in JUNIT.iter_errors(io.StringIO(junit)):
        yield f"junit: {error.path}: {error.reason}"
    issues = json.loads(validate(project, "gitlab"))
    for error in GITLAB.iter_errors(issues):
        yield f"gitlab: {error.json_path}: {error.message[:200]}"
    prints = [issue["fingerprint"] for issue in issues]
    if len(set(prints)) != len(prints):
        yield "gitlab: two findings have one fingerprint, and the second is not shown"


def everything(folder):
    """The templates of all fixtures in one project: every rule, once."""
    (folder / "templates").mkdir(parents=True)
    (folder / "letterpress.toml").write_text("")
    for fixture in sorted(pathlib.Path("tests/fixtures").iterdir()):
        if (fixture / "templates").is_dir() and not (fixture / "templates").is_symlink():
            shutil.copytree(fixture / "templates", folder / "templates" / fixture.name, symlinks=True)
    return folder


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    shutil.copytree("examples", work / "examples", ignore=shutil.ignore_patterns(".letterpress"))
    projects = [work / "examples", everything(work / "everything"), hostile(work / "hostile")]
    rules = {issue["check_name"] for issue in json.loads(validate(projects[1], "gitlab"))}
    wrong = [f"{project.name}: {problem}" for project in projects for problem in problems(project)]
    if len(rules) < 70:
        wrong.append(f"only {len(rules)} rules were seen: the fixtures are not all there")
print("\n".join(wrong) or f"SARIF, JUnit and GitLab code quality are valid, with findings of {len(rules)} rules")
sys.exit(bool(wrong))
