// Loaded before every script: a client that wants to leave this machine fails, and says where it wanted to go.
import { Socket } from 'node:net';

const connect = Socket.prototype.connect;

Socket.prototype.connect = function (...words) {
  const [first] = words.flat();
  const host = typeof first === 'object' ? (first.host ?? 'localhost') : 'localhost';
  if (!['127.0.0.1', 'localhost', '::1'].includes(host)) throw new Error(`wanted to reach ${host}`);
  return connect.apply(this, words);
};
