"""Turns without end, in a separate process and with a bounded share of a CPU."""

import itertools
import multiprocessing
import time

FORK = multiprocessing.get_context("fork")


def now():
    return time.strftime("%H:%M:%S", time.gmtime())


class Worker:
    """Takes one turn after another, except while another process holds its `lock`."""

    def __init__(self, turns, share):
        self.turns, self.share, self.lock = turns, share, FORK.Lock()
        self.answered, self.turns_done = (FORK.Value("Q", 0, lock=False) for _ in range(2))
        self.problems = FORK.SimpleQueue()
        self.process = FORK.Process(target=self.work, daemon=True)

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        """Ends between two turns, since a turn may have stopped a process that it has to continue."""
        with self.lock:
            self.process.kill()
            self.process.join()

    def work(self):
        for turn in itertools.cycle(self.turns):
            with self.lock:
                before = time.process_time()
                try:
                    self.answered.value += turn()
                except (AssertionError, OSError) as error:
                    self.problems.put(f"{now()}: {turn.__name__}: {type(error).__name__}: {error}"[:500])
                self.turns_done.value += 1
                spent = time.process_time() - before
            time.sleep(spent * (1 / self.share - 1) + 0.001)

    def new_problems(self):
        found = []
        while not self.problems.empty():
            found.append(self.problems.get())
        return found
