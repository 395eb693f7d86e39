import { AdmissionChecks } from './admission-checks';
import { Admissions } from './admit';
import { Holds } from './hold';
import { LaneGates } from './lane-gates';
import { RegisteredChooser } from './model-chooser';
import { Routes } from './routes';
import { Surcharges } from './surcharges';
import { TokenRate } from './token-rate';

export type { Admission } from './admission';
export { Admissions } from './admit';
export {
  isReviewedByLane,
  type LeftOut,
  leftOutOf,
  lostInConversion,
  TOOL_REVIEW,
  wantsToolReview,
  withheld,
} from './field-policy';
export { type HeldCall, Holds } from './hold';
export { isBarred } from './lane-gates';
export { callableModels, isListed } from './model-access';
export { type ChosenRoute, type ModelChooser, RegisteredChooser, standIn } from './model-chooser';
export { answeredName, mayContinue, type RoutedCall, Routes, usageLimitsOf } from './routes';
export { sharedFacts } from './shared-facts';
export type { TakenTokens } from './token-rate';

export const admissionStage = [
  AdmissionChecks,
  Admissions,
  Holds,
  LaneGates,
  RegisteredChooser,
  Routes,
  Surcharges,
  TokenRate,
];
