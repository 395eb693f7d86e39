import { AdmissionChecks } from './admission-checks';
import { Admissions } from './admit';
import { Holds } from './hold';
import { LaneGates } from './lane-gates';
import { RegisteredChooser } from './model-chooser';
import { RoutePlanner } from './route-planner';
import { Surcharges } from './surcharges';
import { TokenRateService } from './token-rate.service';

export type { Admission } from './admission';
export { Admissions } from './admit';
export {
  isReviewedByLane,
  type OmittedParts,
  findOmittedParts,
  lostInConversion,
  TOOL_REVIEW,
  wantsToolReview,
  withheldFieldError,
} from './field-policy';
export { type HeldCall, Holds } from './hold';
export { isRejectedByGate } from './lane-gates';
export { callableModels, isListed } from './model-access';
export { type ChosenRoute, type ModelChooser, RegisteredChooser, nextStandIn } from './model-chooser';
export {
  responseModelName,
  canContinueStream,
  type RoutedCall,
  RoutePlanner,
  usageLimitsOf,
} from './route-planner';
export { sharedLaneFacts } from './shared-lane-facts';
export type { TakenTokens } from './token-rate.service';

export const admissionStage = [
  AdmissionChecks,
  Admissions,
  Holds,
  LaneGates,
  RegisteredChooser,
  RoutePlanner,
  Surcharges,
  TokenRateService,
];
