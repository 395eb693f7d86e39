import { parseArgs } from 'node:util';
import { RequestRecordQuery } from '../audit';
import { presentRecord, recordColumns } from '../gateway';
import { platformScope } from '../kernel';
import { KeyRegister } from '../keys';
import { csvLine } from '../web';
import { type CliCommand, UsageError } from './command';
import { parseKeyId } from './key-options';
import { instantOf, wholeNumberOf } from './option-parsers';
import { withServices } from './with-services';

const DEFAULT_ROWS = 100;

export const keyAudit: CliCommand = {
  usage:
    'key audit ID [--from 2027-01-01] [--to 2027-02-01] [--model NAME] [--limit 100] [--format csv|json]',
  summary:
    'What was done with a key, the newest first: one line a request, with its tokens and its cost. ' +
    'json writes one object a line.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        from: { type: 'string' },
        to: { type: 'string' },
        model: { type: 'string' },
        limit: { type: 'string' },
        format: { type: 'string', default: 'csv' },
      },
    });
    const id = parseKeyId(positionals);
    const filter = {
      from: values.from === undefined ? null : instantOf(values.from, '--from'),
      to: values.to === undefined ? null : instantOf(values.to, '--to'),
      model: values.model ?? null,
      limit: values.limit === undefined ? DEFAULT_ROWS : wholeNumberOf(values.limit, '--limit'),
    };
    const isJson = values.format === 'json';
    if (!isJson && values.format !== 'csv') throw new UsageError('--format takes csv or json.');
    return withServices([KeyRegister, RequestRecordQuery], context, async (register, records) => {
      const key = await register.get(platformScope, id);
      if (!isJson) context.write(csvLine(recordColumns));
      for await (const entry of records.allOfKey(key.id, filter)) {
        const record = presentRecord(entry, id);
        context.write(
          isJson ? `${JSON.stringify(record)}\n` : csvLine(recordColumns.map((name) => record[name])),
        );
      }
      return 0;
    });
  },
};
