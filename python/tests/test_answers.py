"""Answers are those of the command line, to the byte, and have the attributes that they promise."""

import json
import pathlib
import pickle
import re
from typing import Any

import pandas
import pytest
from conftest import ROOT, Program

import roofline as rl

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
CHIP = ROOT / "data" / "machines" / "tpu-v5e.toml"
TABLE = ROOT / "python" / "tests" / "data" / "all_gather.csv"
FLEET = ROOT / "python" / "tests" / "data" / "fleet.toml"
PROFILE = ROOT / "python" / "tests" / "data" / "kernels.csv"


def same(answer: rl.Answer, program: Program, *words: str) -> None:
    assert answer.to_json() == program(*words, "--json")
    assert json.loads(answer.to_json())["schema"] == 1


def test_op(program: Program) -> None:
    answer = rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": "8Ki", "F": 8192})
    same(answer, program, "op", MATMUL, "--on", "h100-sxm", "--dims", "B=256,D=8Ki,F=8192")
    # 2 B D + 2 D F + 2 B F bytes over 3.35 TB/s of HBM; 2 B D F FLOPs over 989.4 TFLOP/s
    transferred = 2 * (256 * 8192 + 8192 * 8192 + 256 * 8192)
    assert answer.lower_s == pytest.approx(transferred / 3.35e12, rel=1e-12)
    assert answer.time_s.math == pytest.approx(2 * 256 * 8192 * 8192 / 989.4e12, rel=1e-12)
    assert answer.bytes["hbm"].read + answer.bytes["hbm"].write == transferred
    assert answer.bound_by == "hbm"
    assert answer.ok
    assert answer.expected_s is not None and answer.expected_s > transferred / 3.35e12
    assert answer.ops[0].flops_by["matmul/bf16"] == answer.flops


def test_op_options(program: Program) -> None:
    sharded = "bf16[B, D] * bf16[D, F_X] -> bf16[B, F]"
    answer = rl.op(
        sharded,
        on=["tpu-v5e:4x4", "tpu-v5p:4x4x1"],
        dims={"B": 4096, "D": 8192, "F": 8192},
        mesh={"X": 16},
        set={"hbm.bandwidth": "*2"},
        textbook=True,
    )
    same(answer, program, "op", sharded, "--on", "tpu-v5e:4x4", "--on", "tpu-v5p:4x4x1", "--dims",
         "B=4096,D=8192,F=8192", "--mesh", "X=16", "--set", "hbm.bandwidth=*2", "--textbook")  # fmt: skip
    assert len(answer.machines) == 2


def test_some_machines_fail(program: Program) -> None:
    answer = rl.op(MATMUL, on=["h100-sxm", "no-such-chip"], dims={"B": 1, "D": 8, "F": 8})
    same(answer, program, "op", MATMUL, "--on", "h100-sxm", "--on", "no-such-chip", "--dims", "B=1,D=8,F=8")
    assert answer.status == 2
    assert answer.errors[0].machine == "no-such-chip"


def test_program_in_a_file(program: Program, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "mlp.roof"
    file.write_text("H = silu(bf16[B, D] *_D bf16[D, F])\n")
    answer = rl.op(file, on="tpu-v5e", dims={"B": 64, "D": 1024, "F": 4096})
    same(answer, program, "op", str(file), "--on", "tpu-v5e", "--dims", "B=64,D=1024,F=4096")


def test_machine(program: Program) -> None:
    same(rl.machine("h100-sxm:8"), program, "machine", "h100-sxm:8")
    same(rl.machine(["h100-sxm", "h200"]), program, "machine", "h100-sxm", "h200")
    everything = rl.machine()
    same(everything, program, "machine")
    assert "tpu-v5e" in {each.machine for each in everything.machines}
    same(rl.machine(CHIP), program, "machine", str(CHIP))


def test_machine_as_argument() -> None:
    sizes = {"B": 1, "D": 4096, "F": 4096}
    doubled = rl.machine("h100-sxm", set={"hbm.bandwidth": "*2"})
    twice = rl.op(MATMUL, on=doubled, dims=sizes)
    once = rl.op(MATMUL, on="h100-sxm", dims=sizes)
    assert once.lower_s is not None and twice.lower_s is not None
    assert twice.lower_s == pytest.approx(once.lower_s / 2, rel=1e-12)
    text = CHIP.read_text().replace('id = "tpu-v5e"', 'id = "mine"')
    assert rl.op(MATMUL, on=text, dims=sizes).machine == "mine"


def test_model(program: Program, tmp_path: pathlib.Path) -> None:
    named = rl.model("llama-3.1-8b", seq="8k")
    same(named, program, "model", "llama-3.1-8b", "--seq", "8k")
    assert named.params == 8_030_261_248
    keys: dict[str, Any] = {
        "model_type": "llama", "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000, "max_position_embeddings": 2048,
    }  # fmt: skip
    # embedding and head, and in each layer four projections of attention, three of the MLP and two norms; a last norm
    params = 2 * 1000 * 256 + 2 * (4 * 256 * 256 + 3 * 256 * 1024 + 2 * 256) + 256
    assert rl.model(keys).params == params

    class Configuration:
        model_type = "llama"

        def to_dict(self) -> dict[str, Any]:
            return keys

    assert rl.model(Configuration()).params == params
    file = tmp_path / "config.json"
    file.write_text(json.dumps(keys))
    same(rl.model(file), program, "model", str(file))
    assert rl.model(file.read_text() + "\n").params == params
    forward = rl.op(rl.model(keys).program(), on="h100-sxm")
    assert forward.flops is not None and forward.flops > 2 * 256 * 1000 * 2048
    step = rl.train(rl.model(keys), on="h100-sxm", batch_tokens=4096)
    assert step.params == params


TRAIN = ["train", "llama-3.1-8b", "--on", "h100-sxm:8", "--batch-tokens", "128Ki", "--seq", "4096", "--mesh", "fsdp=8"]


def test_train(program: Program) -> None:
    answer = rl.train("llama-3.1-8b", on="h100-sxm:8", batch_tokens="128Ki", seq=4096, mesh={"fsdp": 8}, remat="full")
    same(answer, program, *TRAIN, "--remat", "full")
    assert answer.plan.fsdp == 8
    assert answer.step.lower_s < answer.step.upper_s
    assert answer.fits
    big = rl.train("llama-3.1-8b", on="h100-sxm:8", batch_tokens="128Ki", seq=4096, mesh="fsdp=8")
    assert not big.fits and big.status == 1 and not big.ok


def test_serve(program: Program) -> None:
    answer = rl.serve("llama-3.1-8b", on="h100-sxm", prompt=2048, output=128, batch=16)
    same(answer, program, "serve", "llama-3.1-8b", "--on", "h100-sxm", "--prompt", "2048", "--output", "128",
         "--batch", "16")  # fmt: skip
    assert answer.tpot_s is not None and answer.decode.lower_s <= answer.tpot_s


def test_plan(program: Program) -> None:
    answer = rl.plan.train(
        "llama-3.1-8b", on="h100-sxm:8", batch_tokens="64Ki", seq=4096, without=["sequence", "context", "pipeline"],
        zero=0, remat="full", microbatches=1, threads=1,
    )  # fmt: skip
    printed = json.loads(
        program("plan", "train", "llama-3.1-8b", "--on", "h100-sxm:8", "--batch-tokens", "64Ki", "--seq", "4096",
                "--without", "sequence,context,pipeline", "--zero", "0", "--remat", "full", "--microbatches", "1",
                "--threads", "1", "--json")
    )  # fmt: skip
    found = answer.to_dict()
    assert found.pop("search_s") is not None and printed.pop("search_s") is not None  # seconds of a clock
    assert found == printed
    assert len(answer.to_pandas()) == len(answer.plans)


def test_fleet(program: Program) -> None:
    try:
        answer = rl.plan.fleet(FLEET, threads=1)
    except rl.Error as error:
        if error.code == "absent":
            pytest.skip(str(error))
        raise
    printed = json.loads(program("plan", "fleet", str(FLEET), "--threads", "1", "--json"))
    assert {**answer.to_dict(), "search_s": 0} == {**printed, "search_s": 0}


def test_models() -> None:
    assert "llama-3.1-8b" in rl.models() and len(rl.models()) > 50


def test_validate_and_fit(program: Program) -> None:
    checked = rl.validate(TABLE, on="h100-sxm:8")
    same(checked, program, "validate", str(TABLE), "--on", "h100-sxm:8")
    frame = pandas.read_csv(TABLE)
    assert rl.validate(frame, on="h100-sxm:8").error == checked.error and checked.rows == 3
    assert checked.to_pandas()["measured_s"].tolist() == pytest.approx([75e-6, 230e-6, 800e-6], rel=1e-12)
    same(rl.fit([TABLE, TABLE]), program, "fit", str(TABLE), str(TABLE))
    strict = rl.validate(TABLE, on="h100-sxm:8", max_error="0.01%")
    assert strict.status == 1 and not strict.ok


def test_parquet(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "measured.parquet"
    pandas.read_csv(TABLE).to_parquet(file)
    assert rl.validate(file, on="h100-sxm:8").error == rl.validate(TABLE, on="h100-sxm:8").error


def test_trace(program: Program) -> None:
    answer = rl.trace(PROFILE, on="h100-sxm")
    same(answer, program, "trace", str(PROFILE), "--on", "h100-sxm")
    assert len(answer.to_pandas()) == 2


def test_validate_and_fit_of_recorded_profiles(program: Program) -> None:
    example = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "step.json"
    checked = rl.validate(example, on="h100-sxm:8")
    same(checked, program, "validate", str(example), "--on", "h100-sxm:8")
    assert checked.rows == 6 and checked.skipped == 1
    same(rl.fit(example, on="h100-sxm"), program, "fit", str(example), "--on", "h100-sxm")
    beside = rl.trace(example, on="h100-sxm:8", model="llama-3.1-8b", mesh={"tensor": 8}, batch_tokens=8192, seq=8192)
    assert beside.beside.by_kind[0].kind == "unknown"


def test_records() -> None:
    answer = rl.op(MATMUL, on="tpu-v5e", dims={"B": 1, "D": 8, "F": 8})
    assert answer["bytes"] == answer.bytes
    assert dict(answer.bytes.hbm) == answer.to_dict()["bytes"]["hbm"]
    with pytest.raises(AttributeError, match="did you mean `lower_s`"):
        _ = answer.lowr_s
    assert "lower_s" in dir(answer)


def test_pickle() -> None:
    for answer in (rl.op(MATMUL, on="tpu-v5e", dims={"B": 1, "D": 8, "F": 8}), rl.machine("tpu-v5e")):
        again = pickle.loads(pickle.dumps(answer))
        assert type(again) is type(answer)
        assert again.to_json() == answer.to_json()
        assert again.text() == answer.text()


def test_texts(program: Program) -> None:
    answer = rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": 8192, "F": 8192})
    words = ["op", MATMUL, "--on", "h100-sxm", "--dims", "B=256,D=8192,F=8192"]
    assert answer.to_csv() == program(*words, "--csv")
    assert answer.to_markdown() == program(*words, "--md")
    assert answer.explain() == program(*words, "--explain")
    assert "H100" in str(answer)
    assert "hbm" in repr(answer)


def test_html_and_pictures() -> None:
    answer = rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": 8192, "F": 8192})
    page = answer._repr_html_()
    assert "<svg" in page and "42.6 us" in page and "prefers-color-scheme:dark" in page
    picture = answer.plot()
    assert isinstance(picture, rl.Picture) and picture._repr_svg_().startswith("<svg")
    for other in (rl.machine("h200"), rl.machine(), rl.model("llama-3.1-8b"), rl.serve("llama-3.1-8b", on="h100-sxm")):
        assert other._repr_html_().startswith('<div class="rl-answer">')
    evil = rl.op("bf16[B, D] * bf16[D, F] -> bf16[B, F] # <script>", on="h100-sxm", dims={"B": 1, "D": 8, "F": 8})
    assert "<script>" not in evil._repr_html_()


def test_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    answer = rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": 8192, "F": 8192})
    axes = answer.plot(ax=True)
    assert [bar.get_width() for bar in axes.patches] == [answer.time_s.math, answer.time_s.hbm]


@pytest.mark.parametrize(
    "answer",
    [
        rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": 8192, "F": 8192}),
        rl.machine("h100-sxm"),
        rl.model("llama-3.1-8b"),
        rl.train("llama-3.1-8b", on="h100-sxm:8", batch_tokens="64Ki", mesh="fsdp=8", remat="full"),
        rl.serve("llama-3.1-8b", on="h100-sxm"),
        rl.validate(TABLE),
        rl.fit(TABLE),
        rl.trace(PROFILE, on="h100-sxm"),
        rl.plan.serve("llama-3.1-8b", on="h100-sxm:1", tpot="50ms"),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_declared_attributes_exist(answer: rl.Answer) -> None:
    """What a class declares for type checkers is in its answers."""
    declared = [name for name in type(answer).__annotations__ if not name.startswith("_")]
    assert declared
    assert [name for name in declared if name not in answer] == []


def test_frames_of_pandas_and_arrow(tmp_path: pathlib.Path) -> None:
    """Tables come as frames, and answers go back to them."""
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.read_csv(TABLE)
    arrow, file = pyarrow.Table.from_pandas(frame), tmp_path / "measured.parquet"
    frame.to_parquet(file)
    # Eight rows at least make a model.
    scaled = [frame.assign(bytes=frame.bytes * scale, time_us=frame.time_us * scale) for scale in (1, 2, 4)]
    many = [pandas.concat(scaled)]
    expected = rl.validate(TABLE, on="h100-sxm:8").to_dict()
    for table in (frame, arrow, file, str(file)):
        assert rl.validate(table, on="h100-sxm:8").to_dict() == expected
        assert rl.fit(table).to_dict() == rl.fit(TABLE).to_dict()
    (tmp_path / "csv.parquet").write_bytes(TABLE.read_bytes())
    for wrong in (tmp_path / "absent.parquet", tmp_path / "csv.parquet"):
        with pytest.raises(rl.Error, match="cannot read") as caught:
            rl.validate(wrong)
        assert caught.value.hint == "give a Parquet file, or a frame"
    fitted = rl.fit(many, date="2026-11-28")
    laws = fitted.to_pandas()
    assert len(laws) == len(fitted.laws) >= 1
    assert laws["rows"].tolist() == [law["rows"] for law in fitted.laws]
    assert rl.validate(frame, on="h100-sxm:8").to_pandas()["bytes"].tolist() == frame["bytes"].tolist()


def test_pages_show_what_was_asked_for() -> None:
    plans = rl.plan.train("llama-3.1-8b", on="h100-sxm:8", batch_tokens="64Ki", seq=4096, zero=0, remat="full",
                          without=["sequence", "context", "pipeline"], microbatches=1, threads=1)  # fmt: skip
    page = plans._repr_html_()
    assert plans.plans[0].plan.mesh in page and "search_s" not in page
    assert "989 TFLOP/s" in rl.machine("h100-sxm")._repr_html_()
    checked = rl.validate(TABLE, on="h100-sxm:8")
    assert f"{100 * checked.error.mean:.3g} %" in checked._repr_html_()
    one = rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": 8192, "F": 8192})
    # Compute and memory in turn: 77.3 us. (The unit of "upper_s" is the second, not that of "tokens_per_s".)
    assert re.search(r"upper_s</td><td[^>]*>77\.3 us<", one._repr_html_())


def test_kinds_of_pictures() -> None:
    assert rl.op(MATMUL, on="tpu-v5e", dims={"B": 1, "D": 8, "F": 8}).svg("timeline").startswith("<svg")
    with pytest.raises(rl.Error, match="has one picture, and `kind` is 'mesh'"):
        rl.serve("llama-3.1-8b", on="h100-sxm").svg("mesh")
    with pytest.raises(rl.Error, match="has no picture"):
        rl.machine("h100-sxm").plot()


def test_reports() -> None:
    one = rl.op(MATMUL, on="h100-sxm", dims={"B": 256, "D": 8192, "F": 8192})
    page = one.to_html()
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
    assert "H100 SXM5 80GB" in page and "42.6 us" in page and "roofline op" in page
    with pytest.raises(rl.Error, match=r"machine\(\) has no report"):
        rl.machine("h100-sxm").to_html()
    with pytest.raises(rl.Error, match="no argument `html`"):
        rl.op(MATMUL, on="h100-sxm", html="a.html")  # type: ignore[call-overload]


def test_empty_values() -> None:
    """An empty list says nothing; an empty text is refused, and takes no other argument as its value."""
    sizes = {"B": 1, "D": 8, "F": 8}
    plain = rl.op(MATMUL, on="h200", dims=sizes)
    assert rl.op(MATMUL, on="h200", dims=sizes, mesh={}, set=[]).to_json() == plain.to_json()
    with pytest.raises(rl.Error, match="ert has no value"):
        rl.machine("h200", ert="")
