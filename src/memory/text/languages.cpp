#include "memory/text/languages.hpp"

#include <libstemmer.h>

#include <algorithm>
#include <vector>

namespace holdfast::memory {

namespace {

struct LanguageData {
    const char* stemmer;
    std::string_view stop_words; // separated by blanks
};

constexpr std::array<LanguageData, language_count> languages = {{
    {"english", "a about above after again against all also am an and any are aren't as at be because been "
                "before being below "
                "between both but by can can't could couldn't did didn't do does doesn't doing don't down "
                "during each either few "
                "for from further get gets got had hadn't has hasn't have haven't having he her here hers "
                "herself him himself his "
                "how i i'd i'll i'm i've if in into is isn't it it's its itself just let's may me might more "
                "most much must my "
                "myself no nor not now of off on once only or other our ours ourselves out over own same "
                "shall she should so some "
                "such than that that's the their theirs them themselves then there these they they're this "
                "those through to too "
                "under until up upon us very was wasn't we we're were weren't what what's when where which "
                "while who who's whom "
                "whose why will with won't would wouldn't you you're your yours yourself"},
    {"german", "aber alle als am an auch auf aus bei bin bis da das dass dein dem den der des die dies diese "
               "dieser doch du durch "
               "ein eine einem einen einer er es für gegen habe haben hat hatte ich ihm ihn ihr im in ist ja "
               "kann kein keine man "
               "mein mich mir mit nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so um und "
               "uns unser unter vom "
               "von vor wann war waren warum was wer wenn werden wie wir wird wo wurde zu zum zur über"},
    {"french", "à ai au aux avec ce ces cet cette comme dans de des du elle en est et eu il ils j'ai je la "
               "le les leur lui ma mais "
               "me mes moi mon ne nos notre nous on ont ou où par pas plus pour quand que quel quelle qui sa "
               "sans se ses son sont "
               "sur ta te tes toi ton tu un une vos votre vous y été être était"},
    {"spanish", "a al algo antes como con cuando cuál cómo cuándo de del desde donde dónde el ella ellos en "
                "entre era es esa ese eso "
                "esta este esto está fue ha hay la las le les lo los más me mi mis muy no nos o para pero "
                "por porque que quién qué "
                "se ser si sin sobre su sus también te tiene todo tu un una y ya yo"},
    {"portuguese", "a ao aos as até com como da das de dela dele do dos e ela ele eles em entre era essa "
                   "esse esta este eu foi há isso "
                   "já mais mas me meu minha muito na nas no nos não nós o onde os ou para pela pelo por "
                   "qual quando que quem se sem "
                   "ser seu sua são também te tem um uma você à é"},
    {"italian", "a agli ai al alla anche che chi ci come con cosa così da dal dalla dei del della delle di "
                "dove e ed era gli ha hai "
                "hanno ho i il in io la le lei lo loro lui ma mi mia mio ne nei nel nella noi non o per "
                "perché più quale quando "
                "quello questa questo se sei si sono sta su sua suo ti tra tu un una uno è"},
    {"dutch", "aan als bij dat de deze die dit door een en er geen had heb hebben heeft het hij hoe hun ik "
              "in is je kan maar me "
              "met mij mijn naar niet nog nu of om onder ons ook op over te tot uit van veel voor waar "
              "wanneer waren was wat we "
              "wel werd wie wij wordt zal ze zich zij zijn zo zou"},
    {"swedish", "alla att av blev bli den denna det detta dig din du där efter eller en ett från för ha hade "
                "han har hon hur här i "
                "icke inte jag kan man med mig min mitt mot mycket ni nu när och om oss på sedan sig sin ska "
                "som så till under upp "
                "ut var varför vad vem vi vid vilken är än över"},
    {"danish", "af alle at blev da de dem den der deres det dig din disse du efter eller en er et for fra "
               "ham han har havde hun "
               "hvad hvem hvor hvornår i ikke jeg kan man med meget mig min mit mod må nu når og også om os "
               "over på sig skal som "
               "så til under var ved vi vil vaere"},
    {"norwegian", "alle at av ble da de dem den denne der deres det dette du eller en er et etter for fra ha "
                  "hadde han hans har hun "
                  "hva hvem hvor hvorfor i ikke jeg kan man med meg min mitt mot må nå når og også om opp "
                  "oss på seg skal som så til "
                  "under ut var ved vi vil vaere"},
    {"finnish", "ei ja joka jos kanssa kuin kun me mikä missä miten mitä mutta myös minun minä ne niin nyt "
                "oli olla on ovat se sen "
                "sinä siitä tai te tämä vai vain vielä ettei että hän"},
    {"hungarian", "a az de egy el én és ez ezt hanem ha hogy hol is ki kell lesz meg mert mi mikor milyen "
                  "mint már nagyon nem ő ők "
                  "sem te után van vagy volt"},
    {"romanian", "a acest această al ale am ar are au ca care ce cea cel cine cu cum când de din după ea ei "
                 "el este eu fi fost în "
                 "la lui mai mea meu ne nu o pe pentru prin sau se si sunt să său un unde unei unui și"},
    {"turkish", "ama bana ben beni bir biz bu çok da daha de değil diye en gibi hangi için ile ise kadar ki "
                "kim mı mi mu ne neden "
                "nerede o onlar onu sen siz şey şu var ve veya ya yok"},
    {"catalan", "a al als amb aquest aquesta com de del dels el ella els em en era és ha han i jo la les li "
                "lo més meu molt no "
                "nosaltres o on per però perquè quan que qui què se són també tu un una va"},
    {"indonesian",
     "ada adalah agar akan aku anda apa atau bagaimana bahwa bisa dalam dan dari dengan di dia ini itu juga "
     "kami kamu "
     "kapan karena ke kita mana mereka oleh pada saya sebuah siapa sudah telah tidak untuk yang"},
    {"greek", "από αυτά αυτό για δεν είναι ένα ένας η θα και με μου να ο οι όταν που πού πώς σε στη στην στο "
              "στον τα τη την της "
              "τι τις το τον του τους των ως"},
    {"russian", "а без был была были было быть в вам вас во все вы где да для до его ее ей если есть еще же "
                "за и из или им их к как "
                "какой когда кто ли меня мне мой мы на нас не него нет но ну о об он она они оно от по "
                "почему при с себя со так там "
                "то тоже только ты у уже что чтобы это этот я"},
    {"armenian", "այդ այլ այն այս դու եմ են ենք ես եք է էի ին իսկ կամ հետ մեջ մի նա նրա որ ու ում և"},
    {"arabic", "أن إلى إن التي الذي أو ثم على عن في كان كل كيف لا لم ما متى من هذا هذه هل هو هي و يا"},
    {"hindi", "और का की के को कि क्या है हैं था थी थे से में पर यह वह इस उस एक नहीं भी तो ही कब कहाँ कौन मैं हम आप"},
    {"tamil", "அது அந்த இது இந்த என் என்ன எங்கு எப்போது ஒரு மற்றும் நான் நீ யார்"},
    {"yiddish", "און איז אין דאָס די דער האָט ניט פֿון צו"},
}};

// One sorted list over all languages: a word and the set of languages it is a stop word of.
struct StopWord {
    std::string_view word;
    std::uint32_t languages;
};

const std::vector<StopWord>& stop_words() {
    static const std::vector<StopWord> list = [] {
        std::vector<StopWord> all;
        for (std::size_t language = 0; language < language_count; ++language) {
            std::string_view rest = languages[language].stop_words;
            while (!rest.empty()) {
                const auto end = std::min(rest.find(' '), rest.size());
                all.push_back({rest.substr(0, end), 1U << language});
                rest.remove_prefix(std::min(end + 1, rest.size()));
            }
        }
        std::ranges::sort(all, {}, &StopWord::word);
        std::vector<StopWord> merged;
        for (const auto& entry : all) {
            if (!merged.empty() && merged.back().word == entry.word)
                merged.back().languages |= entry.languages;
            else
                merged.push_back(entry);
        }
        return merged;
    }();
    return list;
}

std::uint32_t languages_of_stop_word(std::string_view word) noexcept {
    const auto& list = stop_words();
    const auto found = std::ranges::lower_bound(list, word, {}, &StopWord::word);
    return found != list.end() && found->word == word ? found->languages : 0;
}

} // namespace

bool is_stop_word(std::string_view word, Language language) noexcept {
    return (languages_of_stop_word(word) >> static_cast<unsigned>(language) & 1U) != 0;
}

bool is_stop_sign(char32_t code) noexcept {
    constexpr std::u32string_view signs = U"的了是在我你他她它们們这這那有和与與也就都不没沒吗嗎呢吧么麼什哪"
                                          U"里裡谁誰怎为為何很要会會能可以到把被个個";
    return signs.find(code) != signs.npos;
}

void LanguageVote::see(std::string_view lower_word) noexcept {
    auto set = languages_of_stop_word(lower_word);
    marks_ |= std::ranges::any_of(lower_word, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    for (std::size_t language = 0; set != 0; ++language, set >>= 1)
        votes_[language] = static_cast<std::uint16_t>(votes_[language] + (set & 1U));
}

Language LanguageVote::winner(unsigned least) const noexcept {
    std::size_t best = 0;
    for (std::size_t language = 1; language < language_count; ++language)
        if (votes_[language] + (marks_ ? 1U : 0U) >= least && votes_[language] > votes_[best])
            best = language;
    return static_cast<Language>(best);
}

std::string_view without_elision(std::string_view lower_word) noexcept {
    constexpr std::array elided = {"l",  "d",  "j",  "c",   "m",    "n",    "s",    "t",
                                   "qu", "un", "al", "all", "dell", "dall", "nell", "sull"};
    const auto apostrophe = lower_word.find('\'');
    if (apostrophe == lower_word.npos || lower_word.size() - apostrophe < 3)
        return lower_word;
    const auto before = lower_word.substr(0, apostrophe);
    return std::ranges::find(elided, before) != elided.end() ? lower_word.substr(apostrophe + 1) : lower_word;
}

Language language_of(Script script) noexcept {
    switch (script) {
    case Script::greek:
        return Language::greek;
    case Script::cyrillic:
        return Language::russian;
    case Script::armenian:
        return Language::armenian;
    case Script::hebrew:
        return Language::yiddish;
    case Script::arabic:
        return Language::arabic;
    case Script::devanagari:
        return Language::hindi;
    case Script::tamil:
        return Language::tamil;
    default:
        return Language::english;
    }
}

Stemmers::~Stemmers() {
    for (auto* stemmer : stemmers_)
        if (stemmer != nullptr)
            sb_stemmer_delete(stemmer);
}

std::string_view Stemmers::stem(std::string_view lower_word, Language language) {
    auto*& stemmer = stemmers_[static_cast<std::size_t>(language)];
    if (stemmer == nullptr)
        stemmer = sb_stemmer_new(languages[static_cast<std::size_t>(language)].stemmer, "UTF_8");
    if (stemmer == nullptr)
        return lower_word;
    const auto* stemmed = sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(lower_word.data()),
                                          static_cast<int>(lower_word.size()));
    if (stemmed == nullptr)
        return lower_word;
    return {reinterpret_cast<const char*>(stemmed), static_cast<std::size_t>(sb_stemmer_length(stemmer))};
}

} // namespace holdfast::memory
