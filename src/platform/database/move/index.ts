export { targetProblem } from './empty-target';
export { moveDatabase, type MoveProgress } from './move-database';
