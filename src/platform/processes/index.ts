export { ownFolder, ownProcess } from './own-process';
export { type ShutdownKind, supervised, type Supervised } from './supervised';
export { startWatchdog } from './watchdog';
