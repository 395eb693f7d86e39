export { ownFolder, ownProcess } from './own-process';
export { type Parting, supervised, type Supervised } from './supervised';
export { startWatchdog } from './watchdog';
