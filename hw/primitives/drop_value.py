"""drop_value: removes entries whose value equals the fill."""

from amaranth import Module
from amaranth.lib import wiring

from hw.compare import equals
from hw.filter import Filter
from hw.unit import UnitComponent


class DropValue(UnitComponent):
    """A filter of height 0 on the bundle of coordinate and value."""

    def elaborate(self, platform: object) -> Module:
        """Join the two heads in front of a filter."""
        m = Module()
        crd, val = self.r_crd, self.r_val
        same = equals(val.token.data.val, self.params["fill"], self.widths.value)
        m.submodules.filter = thin = Filter(self.write_layout("out"), height=0)
        wiring.connect(m, thin.w, wiring.flipped(self.w_out))
        m.d.comb += [
            thin.valid.eq(crd.valid & val.valid),
            thin.token.empty.eq(crd.token.empty),
            thin.token.close.eq(crd.token.close),
            thin.token.data.crd.eq(crd.token.data.crd),
            thin.token.data.val.eq(val.token.data.val),
            thin.drop.eq((crd.token.empty == 0) & same),
            crd.pop.eq(thin.fire),
            val.pop.eq(thin.fire),
        ]
        return m


COMPONENTS = {"": DropValue}
