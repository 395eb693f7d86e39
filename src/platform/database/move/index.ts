export { problemOfTarget } from './empty-target';
export { moveDatabase, type MoveProgress } from './move-database';
