export { startIfRestored, startQuarantine } from './start-quarantine';
export { groupChoices, type Decisions, type DecisionGroup, decisionGroups } from './decisions';
export { Quarantine } from './quarantine';
export {
  type QuarantineDetails,
  type QuarantineSummary,
  type ProcessorFinding,
  QuarantineStore,
} from './quarantine.store';
export { QUARANTINE_PATH, QuarantineResponder } from './quarantine-responder';
export { QuarantineModule } from './quarantine.module';
export { readRestoredMark } from './restored-file';
