/** Additions raise the second number; what breaks an extension raises the first. */
export const CONTRACT_VERSION = '1.1.0';

/** The host's own Nest stands under this name, as classes of a second copy would not be its own. */
export const HOST_SYMBOL: unique symbol = Symbol.for('switchboard.extension.host');

/** Gives the settings, the log and the ports to providers and controllers of the module that `setup` returned. */
export const HOST: unique symbol = Symbol.for('switchboard.extension.given');
