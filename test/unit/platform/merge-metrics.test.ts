import { mergeMetrics } from '../../../src/platform/processes/merge-metrics';

const textOf = (process: number, value: number): string => `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{process="${process}"} ${value}

# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="1",process="${process}"} 2
seconds_count{process="${process}"} 2
`;

test('metric family appears once with the samples of all processes', () => {
  expect(mergeMetrics([textOf(1, 5), textOf(2, 7), '# HELP own One.\n# TYPE own gauge\nown 1\n'])).toBe(
    `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{process="1"} 5
calls_total{process="2"} 7

# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="1",process="1"} 2
seconds_count{process="1"} 2
seconds_bucket{le="1",process="2"} 2
seconds_count{process="2"} 2

# HELP own One.
# TYPE own gauge
own 1
`,
  );
});

test('merging no metrics yields no text', () => expect(mergeMetrics([])).toBe(''));
