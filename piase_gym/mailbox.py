"""Messages between agents, as in the explorer document; see `piase_gym.core.mailbox`."""

from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailbox, Message

__all__ = ["EVERYONE", "ChannelRules", "Mailbox", "Message"]
