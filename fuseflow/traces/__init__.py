"""What a traced run of the cycle model shows: timelines, waveforms and what held it back."""

from fuseflow.traces.files import check_trace_target, check_waves_target, write_trace
from fuseflow.traces.stalls import Stalls, find_stalls

__all__ = ["Stalls", "check_trace_target", "check_waves_target", "find_stalls", "write_trace"]
