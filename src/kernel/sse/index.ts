export { SseScanner } from './scanner';
export { SseEvent } from './event';
export { formatEvent, formatComment, ssePing } from './writer';
