import { type Finish, finishOf, type UnifiedFinish } from '../canonical';

const UNIFIED: Readonly<Record<string, UnifiedFinish>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  LANGUAGE: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
};

export const readGeminiFinish = (raw: string): Finish => finishOf(UNIFIED, raw);
