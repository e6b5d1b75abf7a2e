"""PPO over `piase_gym.batch_env`: thousands of environments, one policy for all agents.

    python examples/ppo_batch.py piase/GridWorld-FourRooms-8x8-v1
    python examples/ppo_batch.py piase/GridWorld-DoorKey-6x6-v1 --seeds 0 1 2 --out results.json

All of it is one file to read, `piase_gym/training/ppo.py`.
"""

from piase_gym.training.ppo import main

if __name__ == "__main__":
    main()
