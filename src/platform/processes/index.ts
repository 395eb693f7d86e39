export { ownFolder, ownProcess } from './own-process';
export { type Parting, supervised, type Supervised } from './supervised';
