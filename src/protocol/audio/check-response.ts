import { type ResponseCheck, missingContent } from '../response-check';

/** Text can be empty, for a recording without speech. */
export const checkTranscriptionResponse: ResponseCheck = ({ text }) =>
  typeof text === 'string' ? undefined : missingContent('text');

/** Speech is audio, so a JSON body is never valid. */
export const checkSpeechResponse: ResponseCheck = () => missingContent('sound');
