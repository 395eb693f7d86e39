import type { PoolConfig } from 'pg';

/**
 * A server can end a connection in the very packet that opens it. Its taker does not listen yet, and an error event
 * without a listener ends the process. With one, the first query fails instead.
 */
export const survivesLostConnections = {
  onConnect: (client) => void client.on('error', () => undefined),
} satisfies PoolConfig;
