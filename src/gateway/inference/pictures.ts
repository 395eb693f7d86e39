import { type AskedFees, readModes } from '../../kernel';

type Body = Readonly<Record<string, unknown>>;

const PICTURE_WORD = /^[a-z0-9][a-z0-9_.-]{0,39}$/;
const word = (value: unknown, usual: string): string => {
  const text = typeof value === 'string' ? value.toLowerCase() : usual;
  return PICTURE_WORD.test(text) ? text : usual;
};

/** What suppliers take where a caller leaves quality and size to them. */
const USUAL_QUALITY = 'standard';
const USUAL_SIZE = '1024x1024';

/** Quality and size of the pictures: as the answer tells them, else as they were asked for. */
export function pictureKey(answer: Body | null, { quality, size }: Body): string {
  const asked = { quality: word(quality, USUAL_QUALITY), size: word(size, USUAL_SIZE) };
  return `${word(answer?.quality, asked.quality)}/${word(answer?.size, asked.size)}`;
}

export const pictureFees = (body: Body): AskedFees => ({
  uses: {},
  modes: readModes(body) ?? {},
  image: pictureKey(null, body),
});
