// Loaded before the service: says at a signal which of its files are in memory.
process.on('SIGUSR2', () => {
  process.stdout.write(`loaded: ${Object.keys(require.cache).join(' ')}\n`);
});
