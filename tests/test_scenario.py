"""The control language of the simulators: which rule an operation meets, and what is refused as no scenario."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from protocols.simulators.scenario import LONGEST_DELAY_MS, OPERATIONS, Rule, Scenario, ScenarioError, Then


def scenario(*rules: dict[str, Any]) -> Scenario:
    """A scenario of these rules."""
    followed = Scenario()
    followed.replace({"rules": list(rules)})
    return followed


def met(followed: Scenario, *operations: str) -> list[str]:
    """What each of ``operations`` meets, one after the other; an empty text where no rule matches."""
    rules = [followed.take(operation) for operation in operations]
    return ["" if rule is None else str(rule.then) for rule in rules]


class TakeTests(SynchronousTestCase):
    """The first rule that matches is used up."""

    def test_no_rules(self) -> None:
        """Without rules nothing is in an operation's way."""
        self.assertIsNone(Scenario().take("sale"))
        self.assertEqual(met(scenario(), *OPERATIONS), [""] * len(OPERATIONS))

    def test_defaults(self) -> None:
        """A rule that says only what and how holds once, at once and with no code."""
        self.assertEqual(
            scenario({"on": "sale", "then": "refuse"}).take("sale"),
            Rule(on="sale", then=Then.REFUSE, times=1, code="", delay_ms=0),
        )

    def test_everything_given(self) -> None:
        """What a rule says arrives with it."""
        given = {"on": "payment", "then": "accept", "times": 3, "code": "7", "delay_ms": LONGEST_DELAY_MS}
        self.assertEqual(
            scenario(given).take("payment"),
            Rule(on="payment", then=Then.ACCEPT, times=3, code="7", delay_ms=LONGEST_DELAY_MS),
        )

    def test_used_up(self) -> None:
        """A rule without ``times`` holds for one operation."""
        self.assertEqual(met(scenario({"on": "sale", "then": "garbage"}), "sale", "sale"), ["garbage", ""])

    def test_times(self) -> None:
        """A rule holds as often as it says."""
        followed = scenario({"on": "sale", "then": "silent", "times": 2})
        self.assertEqual(met(followed, "sale", "sale", "sale"), ["silent", "silent", ""])

    def test_forever(self) -> None:
        """A rule with ``times`` 0 holds until the scenario is replaced."""
        followed = scenario({"on": "z", "then": "unreachable", "times": 0}, {"on": "z", "then": "accept"})
        self.assertEqual(met(followed, *["z"] * 50), ["unreachable"] * 50)
        followed.replace({"rules": []})
        self.assertEqual(met(followed, "z"), [""])

    def test_in_order(self) -> None:
        """Rules for the same operation are met one after the other, in the order in which they were given."""
        followed = scenario(
            {"on": "sale", "then": "lost_before"},
            {"on": "sale", "then": "lost_after", "times": 2},
            {"on": "sale", "then": "accept"},
        )
        self.assertEqual(met(followed, *["sale"] * 5), ["lost_before", "lost_after", "lost_after", "accept", ""])

    def test_others_pass(self) -> None:
        """An operation passes by the rules for others and leaves them for those."""
        followed = scenario({"on": "open", "then": "refuse"}, {"on": "sale", "then": "garbage"})
        self.assertEqual(met(followed, "return", "sale", "cash_in", "open"), ["", "garbage", "", "refuse"])

    def test_any(self) -> None:
        """A rule for `any` is used up by whatever comes first, a document without a name of its own too."""
        for operation in ("open", "sale", "z", "payment", "print", "close"):
            self.assertEqual(met(scenario({"on": "any", "then": "silent"}), operation, "sale"), ["silent", ""])

    def test_any_and_named(self) -> None:
        """Of a named rule and one for `any`, the first that was given is met first."""
        named, anything = {"on": "sale", "then": "accept"}, {"on": "any", "then": "garbage"}
        self.assertEqual(met(scenario(named, anything), "sale", "sale"), ["accept", "garbage"])
        self.assertEqual(met(scenario(anything, named), "sale", "sale"), ["garbage", "accept"])

    def test_probe(self) -> None:
        """A probe uses up a rule that names it and never one for `any`."""
        followed = scenario({"on": "any", "then": "garbage"}, {"on": "probe", "then": "silent"})
        self.assertEqual(met(followed, "probe", "probe", "sale"), ["silent", "", "garbage"])

    def test_ping(self) -> None:
        """A ping does not use up a rule for `any`."""
        self.assertEqual(met(scenario({"on": "any", "then": "garbage"}), "ping", "sale"), ["", "garbage"])

    def test_replaced(self) -> None:
        """A new scenario takes the place of what is left of the old one."""
        followed = scenario({"on": "sale", "then": "silent", "times": 5})
        followed.take("sale")
        followed.replace({"rules": [{"on": "z", "then": "refuse"}]})
        self.assertEqual(met(followed, "sale", "z"), ["", "refuse"])


class DocumentTests(SynchronousTestCase):
    """What is left can be read."""

    def test_empty(self) -> None:
        """Nothing is left of a scenario without rules."""
        self.assertEqual(Scenario().document(), {"rules": []})

    def test_left(self) -> None:
        """Rules are returned in full, in their order, with how often they still apply."""
        followed = scenario(
            {"on": "open", "then": "accept"},
            {"on": "sale", "then": "lost_after", "times": 3, "code": 7, "delay_ms": 20},
            {"on": "any", "then": "silent", "times": 0},
        )
        self.assertEqual(met(followed, "open", "sale", "z"), ["accept", "lost_after", "silent"])
        self.assertEqual(
            followed.document(),
            {
                "rules": [
                    {"on": "sale", "then": "lost_after", "times": 2, "code": "7", "delay_ms": 20},
                    {"on": "any", "then": "silent", "times": 0, "code": "", "delay_ms": 0},
                ]
            },
        )

    def test_can_be_given_again(self) -> None:
        """What was read is a scenario that can be given."""
        told = scenario({"on": "sale", "then": "refuse", "times": 2, "code": "1034"}).document()
        again = Scenario()
        again.replace(told)
        self.assertEqual(again.document(), told)


class RefusedTests(SynchronousTestCase):
    """An invalid scenario is refused whole, and the place is named."""

    def refused(self, document: object) -> str:
        """The path that is named when ``document`` is refused; what was there before stays."""
        followed = scenario({"on": "sale", "then": "garbage"})
        before = followed.document()
        error = self.assertRaises(ScenarioError, followed.replace, document)
        self.assertEqual(followed.document(), before)
        self.assertEqual(str(error), f"{error.path}: {error.text}" if error.path else error.text)
        self.assertTrue(error.text)
        return str(error.path)

    def test_no_object(self) -> None:
        """A scenario is an object with rules and nothing else; what is none is refused as a whole."""
        documents: list[tuple[object, str]] = [
            *((None, ""), (5, ""), ("rules", ""), ([], "")),
            *(
                ({}, "rules"),
                ({"rules": None}, "rules"),
                ({"rules": {}}, "rules"),
                ({"rules": [], "rule": 1}, "rule"),
            ),
        ]
        for document, path in documents:
            self.assertEqual(self.refused(document), path, document)

    def test_rule_is_no_object(self) -> None:
        """A rule is an object."""
        self.assertEqual(self.refused({"rules": [{"on": "z", "then": "accept"}, 5]}), "rules[1]")

    def test_incomplete(self) -> None:
        """A rule says on what, and what then; the member that is missing is named."""
        good = {"on": "z", "then": "accept"}
        for rule, missing in (({}, "on"), ({"on": "sale"}, "then"), ({"then": "accept"}, "on")):
            self.assertEqual(self.refused({"rules": [good, rule]}), f"rules[1].{missing}", rule)

    def test_unknown_member(self) -> None:
        """A rule with a member that means nothing is refused, so that a slip of the pen is seen."""
        self.assertEqual(self.refused({"rules": [{"on": "sale", "then": "silent", "delay": 5}]}), "rules[0].delay")

    def test_unknown_operation(self) -> None:
        """`on` is a name of the list."""
        for name in ("", "Sale", "close", "ping", "refuse"):
            self.assertEqual(self.refused({"rules": [{"on": name, "then": "accept"}]}), "rules[0].on", name)

    def test_every_operation(self) -> None:
        """Every operation of the devices can be named, and everything that can go wrong."""
        names = (
            *("open", "sale", "return", "cash_in", "cash_out", "withdrawal", "z", "payment", "refund", "cancel"),
            *("settlement", "print", "probe", "any", "income", "expense", "storno", "numbers"),
        )
        thens = ("accept", "refuse", "lost_before", "lost_after", "silent", "garbage", "unreachable")
        for name in names:
            for then in thens:
                self.assertEqual(met(scenario({"on": name, "then": then}), name), [then])
        self.assertEqual((sorted(names), sorted(thens)), (sorted(OPERATIONS), sorted(Then)))

    def test_unknown_consequence(self) -> None:
        """`then` is a name of the list."""
        for then in ("", "lost", "Accept", 1, None):
            self.assertEqual(self.refused({"rules": [{"on": "sale", "then": then}]}), "rules[0].then", then)

    def test_times(self) -> None:
        """`times` is a whole number from 0."""
        for times in (-1, 1.5, "2", None, True):
            self.assertEqual(
                self.refused({"rules": [{"on": "sale", "then": "accept", "times": times}]}), "rules[0].times", times
            )

    def test_delay(self) -> None:
        """`delay_ms` is a whole number from 0 to ten minutes."""
        for delay in (-1, LONGEST_DELAY_MS + 1, 0.5, "10", None, True):
            self.assertEqual(
                self.refused({"rules": [{"on": "sale", "then": "accept", "delay_ms": delay}]}),
                "rules[0].delay_ms",
                delay,
            )

    def test_code(self) -> None:
        """`code` is a text or a whole number."""
        codes: tuple[object, ...] = (1.5, [], {}, True, None)
        for code in codes:
            self.assertEqual(
                self.refused({"rules": [{"on": "sale", "then": "refuse", "code": code}]}), "rules[0].code", code
            )

    def test_code_as_number(self) -> None:
        """A code may be given as a number."""
        rule = scenario({"on": "sale", "then": "refuse", "code": 1034}).take("sale")
        assert rule is not None
        self.assertEqual(rule.code, "1034")

    def test_first_mistake(self) -> None:
        """The first rule that is wrong is named, in whatever way the ones after it are wrong."""
        rules = [{"on": "sale", "then": "accept"}, {"on": "soon", "then": "accept"}, {"on": "then", "then": "no"}]
        self.assertEqual(self.refused({"rules": rules}), "rules[1].on")
