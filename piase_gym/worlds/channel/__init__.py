"""The channel between agents: one set of config keys and one set of rules for every world.

`config` has the keys, `symbols` the messages of learners (what they can say, and how facts, texts
and vectors represent what is heard), `kernels` the compiled rules of array worlds, and `speech` the
words of language models. The reference for the rules is `piase_gym.core.mailbox`, in plain Python;
the page `docs/channels.md` describes them in words.
"""
