/** Holds the challenge, so that a response is valid only in the browser that requested it. */
export const passkeyCookie = 'svc_passkey';
export const PASSKEY_SECONDS = 300;
