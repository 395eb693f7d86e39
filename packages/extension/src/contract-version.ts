/** Additions raise the minor version; breaking changes raise the major version. */
export const CONTRACT_VERSION = '1.1.0';

/** Key of the host's own Nest, because classes of a second copy would not be recognised. */
export const HOST_SYMBOL: unique symbol = Symbol.for('switchboard.extension.host');

/**
 * Injection token of the settings, log and ports, for providers and controllers of the module that `setup` returned.
 */
export const HOST: unique symbol = Symbol.for('switchboard.extension.given');
