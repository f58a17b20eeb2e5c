from tests.test_ssi_driver import SsiFaultTests, SsiDesk
from tests.test_privatbank_driver import PrivatbankFaultTests
class Many:
    def test_many(self):
        for seed in range(25):
            self.tearDown(); self.setUp(); self.seed=seed
            try: self.test_chaos()
            except BaseException as e: print(type(self).__name__, seed, repr(e)[:300])
            self.flushLoggedErrors()
class ATests(Many, SsiFaultTests): pass
class BTests(Many, PrivatbankFaultTests): pass
class CTests(Many, SsiFaultTests):
    settings={"two_steps": True}
del SsiFaultTests, PrivatbankFaultTests
