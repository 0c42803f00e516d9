"""peers.py with small programs in place of databases: python3 -m unittest discover bench/peers"""
import contextlib
import io
import json
import os
import tempfile
import unittest

import peers


def call(*arguments: str):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = peers.main(list(arguments))
    return code, out.getvalue(), errors.getvalue()


class Peers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.file = os.path.join(self.directory.name, "out.json")

    def counting(self, name: str, first: int, step: int) -> str:
        """A program whose rate grows from run to run, and that writes into a file when it ran."""
        counter, order = (os.path.join(self.directory.name, file) for file in (name, "order"))
        script = f"n=$(cat {counter} 2>/dev/null || echo {first}); echo $((n + {step})) > {counter}"
        return f"sh -c '{script}; echo {name} >> {order}; echo rate 1; echo rate $n'"

    def test_ratios_are_of_the_same_round_and_turns_change(self):
        code, out, errors = call(
            *("--run", f"a={self.counting('a', 100, 100)}", "--rate", r"a=rate (\d+)"),
            *("--run", f"b={self.counting('b', 50, 50)}", "--rate", r"b=rate (\d+)"),
            *("--rounds", "3", "--out", self.file),
        )
        self.assertEqual(code, 0, errors)
        self.assertIn("a / b", out)
        with open(self.file, encoding="utf-8") as file:
            result = json.load(file)
        ratio = result["ratios"][0]
        # the rates double and triple, the ratio of one round does not change
        self.assertEqual([ratio["least"], ratio["median"], ratio["greatest"]], [2, 2, 2])
        self.assertEqual(result["runs"][0]["rates"], [100, 200, 300])
        with open(os.path.join(self.directory.name, "order"), encoding="utf-8") as file:
            self.assertEqual(file.read().split(), ["a", "b", "b", "a", "a", "b"])

    def test_a_rate_in_json_and_the_spread(self):
        rates = peers.spread([1.0, 2.0, 3.0, 4.0, 10.0])
        self.assertEqual((rates["median"], rates["lower_quartile"], rates["upper_quartile"]), (3, 2, 4))
        self.assertEqual((rates["least"], rates["greatest"]), (1, 10))
        self.assertEqual(peers.spread([5.0])["upper_quartile"], 5)
        json_run = """a=echo '{"report": {"rates": [1, 7.5]}}'"""
        plain = ("--run", "b=echo 2,500.0 per second", "--rate", "b=([0-9.,]+) per")
        code, out, errors = call("--run", json_run, "--json", "a=report.rates.1", *plain, "--rounds", "1")
        self.assertEqual(code, 0, errors)
        self.assertIn("0.003", out)

    def test_what_fails_hangs_or_says_no_rate_ends_the_comparison(self):
        fine = ("--run", "a=echo 5", "--rate", "a=(.+)")
        for command, said in [
            ("sh -c 'echo no memory; exit 3'", "no memory"),
            ("/nowhere/benchmark", "/nowhere/benchmark"),
            ("echo nothing", "matches"),
            ("echo 'rate 0'", "compares with nothing"),
            ("sh -c 'sleep 1000 & wait'", "had not ended"),
        ]:
            limit = "0.5" if "sleep" in command else "60"
            code, _, errors = call(*fine, "--run", f"b={command}", "--rate", r"b=rate (\d+)", "--limit", limit)
            self.assertEqual(code, 2, command)
            self.assertIn(said, errors)

    def test_what_is_asked_for_in_a_wrong_way_is_told(self):
        for arguments, said in [
            ((), "two runs"),
            (("--run", "a=true"), "one of --rate and --json"),
            (("--run", "a=true", "--rate", "a=x"), "group"),
            (("--run", "a=true", "--rate", "b=(x)"), "no --run b"),
            (("--run", "nothing"), "NAME=..."),
            (("--run", "a=true", "--run", "a=false"), "twice"),
            (("--rounds", "0"), "at least one"),
        ]:
            code, _, errors = call(*arguments)
            self.assertEqual(code, 2)
            self.assertIn(said, errors)


if __name__ == "__main__":
    unittest.main()
