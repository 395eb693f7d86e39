// Preloaded before the service; lists its loaded files on a signal.
process.on('SIGUSR2', () => {
  process.stdout.write(`loaded: ${Object.keys(require.cache).join(' ')}\n`);
});
