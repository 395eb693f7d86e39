export { beginIfRestored, beginQuarantine } from './begin';
export { choices, type Decisions, type Group, groups } from './decisions';
export { Quarantine } from './quarantine';
export { type Between, type HeldBack, type ProcessorFinding, QuarantineBook } from './quarantine-book';
export { QUARANTINE_PATH, QuarantineDoor } from './quarantine-door';
export { QuarantineModule } from './quarantine.module';
export { readRestoredMark } from './restored-file';
