import 'reflect-metadata';
import { runCommand } from './commands/run-command';

void runCommand(process.argv.slice(2));
