export { SseScanner, type SseScannerOptions } from './scanner';
export { SseEvent } from './event';
export { formatEvent, formatComment, ssePing, type OutgoingEvent } from './writer';
