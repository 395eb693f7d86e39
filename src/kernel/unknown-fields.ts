/** Handling of request fields that the gateway does not know. */
export const UNKNOWN_FIELD_MODES = ['drop', 'forward'] as const;
export type UnknownFieldMode = (typeof UNKNOWN_FIELD_MODES)[number];
