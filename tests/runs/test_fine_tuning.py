"""The recipes for TRL in docs/language_models.md, with TRL and a small model where TRL is there."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from piase_gym.agents.llm import Prompt
from tests.paths import DOCS
from tests.runs.test_chats import played

PAGE = (DOCS / "language_models.md").read_text("utf-8").partition("### Fine-tuning with TRL")[2]
SUPERVISED, GRPO = re.findall(r"```python\n(.*?)```", PAGE, re.S)[:2]
trl = pytest.mark.skipif(find_spec("trl") is None, reason="needs TRL: make test-client-trl")
SMALL = "use_cpu=True, bf16=False, report_to=[], save_strategy='no', per_device_train_batch_size="


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to an empty folder."""
    monkeypatch.chdir(tmp_path)


def test_chats_have_the_shape_that_is_learned() -> None:
    runs.demonstrate("TextRoom", "chats.jsonl", episodes=3, prompt=Prompt(commands=False))
    rows = [json.loads(line) for line in Path("chats.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 3
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        assert roles == ["system", *["user", "assistant"] * (len(roles) // 2)]
        assert all([*message] == ["role", "content"] for message in row["messages"])
        assert all(type(message["content"]) is str for message in row["messages"])
        assert row["mask"] == [int(role == "assistant") for role in roles]
        assert len(row["outcomes"]) == len(row["rewards"]) == roles.count("assistant")
        assert type(row["seed"]) is int
        assert type(row["return"]) is float


def test_a_world_is_a_tool_with_a_reward() -> None:
    names: dict[str, Any] = {}
    exec(
        re.sub(r"^from (datasets|trl) .*\n", "", GRPO.partition("\n\nrules =")[0], flags=re.M),
        names,
    )
    room = names["Room"]()
    assert "Your goal: " in room.reset(seed=3, prompt=[])
    assert "Last step: no command; unparsable" in room.act("fly")
    assert "Last step: wait; ok" in room.act(command="wait")
    assert room.get_reward() == pytest.approx(-1.2)
    while not room.over:
        room.act("wait")
    with pytest.raises(ValueError, match="the episode is over"):
        room.act("wait")
    room.reset(seed=4)
    assert room.get_reward() == 0.0


# -- with TRL ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a small model that has learned nothing, with Qwen 3's chat template."""
    import trl
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    folder = tmp_path_factory.mktemp("model")
    letters = Tokenizer(models.BPE())
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=marks, initial_alphabet=alphabet, show_progress=False
    )
    letters.train_from_iterator([PAGE], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=letters, pad_token=marks[0], eos_token=marks[2]
    )
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text("utf-8")
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8192}
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    config = Qwen2Config(vocab_size=len(tokenizer), bos_token_id=None, **sizes, **heads, **ids)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    return str(folder)


def small(code: str, model: str) -> str:
    """Return a recipe that trains the small model for a step or two."""
    for old, new in (
        ("Qwen/Qwen3-0.6B", model),
        ("episodes=200", "episodes=8"),
        ("max_length=None", f"max_length=None, max_steps=2, {SMALL}1"),
        ("range(1000)", "range(8)"),
        ("max_completion_length=4096", f"max_completion_length=32, max_steps=1, {SMALL}8"),
        (".train()", ""),
    ):
        code = code.replace(old, new)
    return re.sub(r"^(\w+Trainer\()", r"trainer = \1", code, flags=re.M)


@trl
@pytest.mark.filterwarnings("ignore")
def test_every_command_of_a_chat_is_learned(model: str) -> None:
    names: dict[str, Any] = {}
    exec(small(SUPERVISED, model), names)
    trainer, chats = names["trainer"], names["good"]
    assert len(chats) == len(trainer.train_dataset) > 0
    for chat, row in zip(chats, trainer.train_dataset, strict=True):
        tokens = [label for label in row["labels"] if label != -100]  # the others are not learned
        learned = trainer.processing_class.decode(tokens)
        said = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
        assert re.findall(r"(.+)<\|im_end\|>", learned) == said
    trainer.train()
    assert trainer.state.global_step == 2


@trl
@pytest.mark.filterwarnings("ignore")
def test_an_environment_is_played_in_grpo(model: str) -> None:
    names: dict[str, Any] = {}
    exec(small(GRPO, model), names)
    names["trainer"].train()
    assert names["trainer"].state.global_step == 1
    assert "Give each command by calling act." in names["rules"]


@trl
@pytest.mark.filterwarnings("ignore")
def test_pairs_are_preferred(model: str) -> None:
    from datasets import load_dataset
    from trl import DPOConfig, DPOTrainer, unpair_preference_dataset

    run = played(Path("run.jsonl"), "oracle")
    runs.fork(run, 1, actions={"agent_0": "move left"}, logs="forks")
    runs.preferences("forks", "pairs.jsonl")
    pairs = load_dataset("json", data_files="pairs.jsonl", split="train")
    assert (
        len(unpair_preference_dataset(pairs.select_columns(["prompt", "chosen", "rejected"]))) == 2
    )
    settings = eval(f"DPOConfig('dpo', max_steps=1, {SMALL}1)", {"DPOConfig": DPOConfig})
    trainer = DPOTrainer(model, args=settings, train_dataset=pairs)
    trainer.train()
    assert trainer.state.global_step == 1
