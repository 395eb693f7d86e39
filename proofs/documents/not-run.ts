interface SkippedCommands {
  /** Prefixes or complete commands. */
  readonly commands: RegExp;
  readonly why: string;
}

/**
 * Documented commands that the proof does not run, each with its reason; an entry that matches no document is a
 * failure.
 */
export const skippedCommands: readonly SkippedCommands[] = [
  {
    commands: /^npm run cli -- quarantine (begin|release) /,
    why: 'it closes or opens the installation that all other steps use; test/integration/commands/quarantine.test.ts runs it',
  },
  {
    commands: /^npm run cli -- alert-channel:/,
    why: 'its address is a made-up one; test/integration/commands/alert-channels.test.ts runs it',
  },
  {
    commands: /^openssl rand -base64 32$|^npm run cli -- (backup|restore)/,
    why: 'it needs a disk and a key of its own; `test/integration/backup` and `npm run prove:restore` run it',
  },
  {
    commands: /^(?:install -d|systemctl edit|systemd-run) /,
    why: 'it needs a machine that systemd runs, with the unit installed',
  },
  {
    commands: /^npm run prove:/,
    why: 'it is a proof of its own, of minutes; that the script is there is checked',
  },
  { commands: /^npm run bench:/, why: 'it measures for minutes; that the script is there is checked' },
  { commands: /^npm test$/, why: 'it runs every test; this one would run itself' },
  {
    commands: /^npm test -- -t /,
    why: 'it opens every file of tests; that a test of the name is there is checked',
  },
  {
    commands: /^npm test -- --selectProjects /,
    why: 'it runs for minutes; that the project is there is checked',
  },
  {
    commands:
      /^npm run dev -- pack extension$|^npm run cli -- extension:|^cd \.\.\/house-rules |^EXT_HOUSE_RULES_WORDS=/,
    why: 'tests of `test/integration/extensions` type it, in folders of their own and without a network',
  },
  {
    commands: /^npm run cli -- tap:|^psql "\$MIGRATION_DATABASE_URL"/,
    why: 'it needs an extension of a team; `test/integration/extensions` and `test/integration/commands` run it',
  },
  { commands: /^export /, why: 'it sets what the commands beside it read' },
  { commands: /^(?!EXT_)[A-Z_]+=/, why: 'it is a setting of a program of somebody else' },
  {
    commands: /^\{\{claudeCodeSettings\}\}$/,
    why: 'the portal puts settings for the command after it there',
  },
  { commands: /^(?:claude|codex)(?: |$)/, why: '`npm run prove:clients` types it as it stands' },
  { commands: /^stripe listen /, why: "it needs Stripe's program and an account" },
  { commands: /^perf /, why: 'it needs the rights to look into a process under load' },
];
