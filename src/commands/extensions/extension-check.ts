import { parseArgs } from 'node:util';
import { checkExtension, type KitResult } from '#extension/kit';
import { projectFolder } from '../../views';
import { type CliCommand, UsageError } from '../command';

export const extensionCheck: CliCommand = {
  usage:
    'extension:check PATH [--prompt TEXT] [--text TEXT]… [--page /x/…]… [--topic TOPIC]… [--product FOLDER]',
  summary:
    'Starts the service, on data of its own, with an extension, and tests each part of it with good, bad and foreign ' +
    'input. Its settings are variables that begin with EXT_<ID>_. --prompt is a request that it lets through, --text an ' +
    'answer in which its masks find something, --page a page that its navigation does not name, --topic limits the ' +
    'checks to a topic such as pages, --product is another folder with a built service.',
  async run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        prompt: { type: 'string' },
        text: { type: 'string', multiple: true },
        page: { type: 'string', multiple: true },
        topic: { type: 'string', multiple: true },
        product: { type: 'string', default: projectFolder },
      },
    });
    const [path, ...others] = positionals;
    if (path === undefined || others.length > 0) throw new UsageError('It takes the path of one extension.');
    const variables = Object.entries(context.environment).filter(([name]) => name.startsWith('EXT_'));
    const { prompt, text: texts, page: pages, topic: topics, product } = values;
    const options = {
      product,
      environment: Object.fromEntries(variables) as Record<string, string>,
      ...(prompt === undefined ? {} : { prompt }),
      ...(texts === undefined ? {} : { texts }),
      ...(pages === undefined ? {} : { pages }),
      ...(topics === undefined ? {} : { topics }),
    };
    const results = await checkExtension(path, options, (result) => context.write(resultText(result)));
    const count = (outcome: KitResult['outcome']): number =>
      results.filter((result) => result.outcome === outcome).length;
    context.write(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`);
    return count('failed') === 0 ? 0 : 1;
  },
};

const resultText = ({ topic, check, outcome, reason }: KitResult): string => {
  const line = `${outcome.padEnd(7)}  ${topic.padEnd(9)}  ${check}`;
  return `${line}${reason === '' ? '' : `\n         ${reason.replaceAll('\n', '\n         ')}`}\n`;
};
