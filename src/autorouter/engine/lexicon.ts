/**
 * Words that indicate the topic of a request, mostly English. Requests in other languages fall into `general` and are
 * distinguished by their hashed words.
 */
const lexicon = {
  maths: `equation integral derivative solve sum sqrt theorem proof prove matrix polynomial probability prime triangle
    angle algebra geometry calculate divided multiply fraction percent average ratio radius vector median variance
    logarithm cos sin modulo integer total remaining twice half dozen`,
  code: `function return class def python javascript typescript java sql import array string int bug code compile api
    html css json regex algorithm loop variable exception assert null const void print program debug git docker rust
    kernel thread database query server linux`,
  legal: `law legal court contract liability statute plaintiff defendant tort constitutional attorney clause lawsuit
    negligence jurisdiction copyright patent gdpr damages criminal judge jury offense precedent`,
  medical: `patient disease symptom diagnosis treatment clinical drug dose blood medical cancer doctor infection
    therapy syndrome surgery pain nurse vaccine chronic cardiac pregnancy fever lesion tumor`,
  science: `physics chemistry energy force molecule atom acid reaction velocity mass temperature pressure electron
    cell protein gene dna species enzyme current voltage magnetic wavelength quantum planet evolution heat gas bond
    frequency circuit organism`,
  business: `company market price cost revenue profit customer sales stock tax investment bank demand supply economy
    inflation interest marketing accounting budget manager trade product inventory shares cash firm income`,
  history: `century war empire king queen treaty revolution ancient emperor colonial dynasty president historical
    medieval soviet civilization invasion independence army battle passage`,
  philosophy: `philosophy ethics moral argument kant plato aristotle virtue utilitarian epistemology metaphysics
    rationality belief consciousness socrates hume existence fallacy premise duty`,
  writing: `write essay story poem email letter rewrite summarize summary paragraph translate blog article tone
    headline draft edit grammar script character novel creative style`,
  reasoning: `why explain therefore because following true false statement answer question options choose correct
    reason step steps logic puzzle conclude infer which deduce best`,
} as const;

export type Topic = keyof typeof lexicon;

/** Topics in the order of the structural vector, which is stored: append only. */
export const topics = Object.keys(lexicon) as readonly Topic[];

const topicOfWord = new Map(
  topics.flatMap((topic, index) => lexicon[topic].split(/\s+/).map((word) => [word, index] as const)),
);

export const topicOf = (word: string): number | undefined => topicOfWord.get(word);
